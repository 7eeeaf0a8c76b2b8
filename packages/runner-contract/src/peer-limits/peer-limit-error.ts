/** A server sent more than its answers need. Its connection has ended. */
export class PeerLimitError extends Error {
  override readonly name = "PeerLimitError";
  readonly code = "ExcessiveLoad";
  /** A server that sends so much once does so again. */
  readonly retryable: boolean = false;

  constructor(options?: ErrorOptions) {
    super(
      "the connection was ended: the server sent more protocol data than its answers need, such as interim responses, empty frames or tiny chunks; check what runs there",
      options,
    );
  }
}

/** The {@link PeerLimitError} that caused an error. */
export function peerLimitErrorOf(error: unknown): PeerLimitError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof PeerLimitError) return at;
  return undefined;
}
