"""Text to terms: words, stems, stop words, dates, and what a query asks for."""
