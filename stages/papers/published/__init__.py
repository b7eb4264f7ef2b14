"""Figures that papers print, read from a file such as `published.yaml`, beside measured ones."""
