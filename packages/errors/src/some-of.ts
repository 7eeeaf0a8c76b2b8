/** Names for a message: the first ones, and how many others there are. */
export function someOf(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).join(", ");
  return names.length > most ? `${shown}, and ${names.length - most} more` : shown;
}
