"""Reports as self-contained HTML pages: charts as inline SVG, tables, and one template."""
