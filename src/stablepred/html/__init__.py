"""Self-contained HTML pages: charts as inline SVG, tables, and one template.

Knows frames, arrays and strings only; what they mean is the business of the floors above.
"""
