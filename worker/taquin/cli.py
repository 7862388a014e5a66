"""The `taquin` command."""
