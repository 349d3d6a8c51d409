"""The engine in pure Python: the FSM index of Willard & Louf as an executable specification."""
