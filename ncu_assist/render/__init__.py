"""Records to text: no measuring, no deciding, no writing."""
