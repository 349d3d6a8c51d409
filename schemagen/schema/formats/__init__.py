"""The values of `format`, each as a regular expression."""
