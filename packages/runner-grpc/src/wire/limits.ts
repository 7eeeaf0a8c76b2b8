import { MAX_PAYLOAD_BYTES } from "@xfn/runner-contract";

/** What a message may have besides its payload: an image reference, credentials (tokens of some registries have several KiB). */
export const MAX_ENVELOPE_BYTES: number = 256 * 1024;

/** The largest message on the wire, in bytes. Both ends refuse a larger one when they see its length, before reading it. */
export const MAX_MESSAGE_BYTES: number = MAX_PAYLOAD_BYTES + MAX_ENVELOPE_BYTES;

/** What a call may take besides the run itself, in milliseconds: waiting in the runner's queue, pulling the image. */
export const DEFAULT_MARGIN_MS = 60_000;

/**
 * How far the clocks of the two ends of a call may be apart at its deadline, in milliseconds: it travels as the time that is left, so
 * that one end always sees it first, and resets the call. The other has not been cancelled then.
 */
export const DEADLINE_SLACK_MS = 200;

/** The longest timeout that a request may ask for: a day. Timers of Node end at 24.8 days. */
export const MAX_TIMEOUT_MS: number = 24 * 60 * 60 * 1000;

/** The longest image reference: a registry's host (253), a repository (255), a tag (128), a digest; rounded up. */
export const MAX_IMAGE_LENGTH = 1024;

/** The longest step name, in UTF-8 bytes: names of steps are short, and the request's headers are bounded. */
export const MAX_STEP_BYTES = 256;

/** The longest field of a registry's credentials: a third-party JWT with many claims has some 10 KiB. */
export const MAX_CREDENTIAL_LENGTH: number = 64 * 1024;

// Trailers must stay below 8 KiB together: the limit that gRPC's C core (Python, C++, Ruby) has for all metadata. Binary ones
// grow by a third in base64, and a status text at worst threefold when it is percent-encoded.

/** The longest text of a failed call's status, in UTF-8 bytes. */
export const MAX_STATUS_TEXT_BYTES = 800;

/** How much of the end of stderr a failed call's details have, in UTF-8 bytes. */
export const MAX_STDERR_DETAIL_BYTES = 2048;

/** How much of the end of stderr a call that succeeded has in its trailers, in UTF-8 bytes. */
export const MAX_STDERR_TRAILER_BYTES = 4096;

/** The largest google.rpc.Status that a client decodes: what fits into HTTP/2 headers of 64 KiB. */
export const MAX_STATUS_DETAIL_BYTES: number = 64 * 1024;
