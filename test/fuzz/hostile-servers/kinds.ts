/** The behaviour of a hostile server on one connection. */
export interface Kind {
  /** Sent once, when the request has begun. */
  readonly first?: Buffer;
  /** Sent again and again, until the client ends the connection. Without it, the server sends nothing more. */
  readonly flood?: Buffer;
  /** The flood is sent in many small writes, each of which the client reads alone. */
  readonly isDrip?: boolean;
  /** The flood is content, which may cost what as much content of a good server costs. */
  readonly isContent?: boolean;
}

/** Copies of a piece that make up some 64 KiB, so that the server is faster than its client. */
export function repeated(...pieces: readonly Buffer[]): Buffer {
  const piece = Buffer.concat(pieces);
  return Buffer.concat(Array.from({ length: Math.max(1, Math.floor(65_536 / piece.length)) }, () => piece));
}
