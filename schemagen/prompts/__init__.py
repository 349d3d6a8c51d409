"""What a model is told: messages, the shape of the answer, and what families of models expect."""
