import { CodedError } from "@xfn/errors";
/** A server sent more than its answers need. Its connection has ended. Not retryable: the server would do so again. */
export class PeerLimitError extends CodedError<"ExcessiveLoad"> {
  override readonly name = "PeerLimitError";

  constructor(options?: ErrorOptions) {
    super(
      "ExcessiveLoad",
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
