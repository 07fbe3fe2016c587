# A colleague sent a report, $REPORT: what it says, a page, a table, and kept for later. No GPU is needed.
ncu-assist show "$REPORT" --lines
ncu-assist report "$REPORT" --output page.html
ncu-assist export "$REPORT" --table lines --output lines.csv
ncu-assist import "$REPORT" --kernel theirs --version v1
ncu-assist diff theirs/v1 "$REPORT"
