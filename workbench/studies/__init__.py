"""Many runs made into one picture: curves and their executors."""
