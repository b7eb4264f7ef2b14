"""`python -m tests.pipeline.gravel`: the command, wherever it is installed."""

from gravel.pipeline.cli import main

if __name__ == "__main__":
    main()
