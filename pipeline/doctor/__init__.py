"""The checks behind `gravel doctor`: this machine examined, each finding with its cure."""
