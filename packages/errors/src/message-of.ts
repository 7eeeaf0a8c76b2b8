/** The message of a thrown value. Node reports failed connections to several addresses as one error without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "" && error.errors.length > 0) {
    return messageOf(error.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}
