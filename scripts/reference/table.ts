/** A table in Markdown. Bars in cells are escaped. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll(/\\?\|/g, "\\|")).join(" | ")} |`.replaceAll(/ {2,}/g, " ");
  return [line(header), `|${"---|".repeat(header.length)}`, ...rows.map(line)].join("\n");
}
