"""Parts of the stage compress: decoding what it wrote."""
