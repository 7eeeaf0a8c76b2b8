/** A command that only kubectl itself can answer. */
export class NotImitated extends Error {
  override readonly name = "NotImitated";
}
