/** The message of a thrown value. Failed connections to several addresses are one error of Node, without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "" && error.errors.length > 0) {
    return messageOf(error.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}
