"""Charts drawn by Matplotlib, for a page without scripts and for papers. Nothing else imports Matplotlib."""
