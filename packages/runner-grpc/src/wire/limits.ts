import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";

/** Bytes in addition to the payload: an image reference, and credentials (some registries' tokens have several KiB). */
export const MAX_ENVELOPE_BYTES: number = 256 * 1024;

/** The largest message on the wire, in bytes. Both ends reject a larger one by its length, before they read it. */
export const MAX_MESSAGE_BYTES: number = MAX_PAYLOAD_BYTES + MAX_ENVELOPE_BYTES;

/** Time of a call in addition to the run itself, in milliseconds: for the runner's queue, and for the pull. */
export const DEFAULT_MARGIN_MS = 60_000;

/**
 * The largest difference between the deadlines that the two ends of a call see, in milliseconds. The deadline is sent
 * as the remaining time, so one end reaches it first and resets the call. The other end must not treat that reset as a
 * cancellation.
 */
export const DEADLINE_SLACK_MS = 200;

export { MAX_TIMEOUT_MS } from "@xfn/runner-contract";

/** The longest image reference: a registry's host (253), a repository (255), a tag (128), a digest; rounded up. */
export const MAX_IMAGE_LENGTH = 1024;

/** The longest step name, in UTF-8 bytes: names of steps are short, and the request's headers are bounded. */
export const MAX_STEP_BYTES = 256;

/** The longest field of a registry's credentials: a third-party JWT with many claims has some 10 KiB. */
export const MAX_CREDENTIAL_LENGTH: number = 64 * 1024;

/** The largest header with credentials of a package's registry, in bytes: Node accepts 64 KiB of headers, in base64. */
export const MAX_PULL_HEADER_BYTES: number = 32 * 1024;

// All trailers must stay below 8 KiB, the metadata limit of gRPC's C core (Python, C++, Ruby). Binary ones grow by a
// third in base64, and percent-encoding may triple a status text.

/** The longest text of a failed call's status, in UTF-8 bytes. */
export const MAX_STATUS_TEXT_BYTES = 800;

/** Length of the stderr tail in a failed call's details, in UTF-8 bytes. */
export const MAX_STDERR_DETAIL_BYTES = 2048;

/** Length of the stderr tail in a successful call's trailers, in UTF-8 bytes. */
export const MAX_STDERR_TRAILER_BYTES = 4096;

/** The largest google.rpc.Status that a client decodes: the size that HTTP/2 headers of 64 KiB can hold. */
export const MAX_STATUS_DETAIL_BYTES: number = 64 * 1024;
