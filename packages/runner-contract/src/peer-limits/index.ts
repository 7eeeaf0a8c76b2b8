// Limits the load that an untrusted server can put on its client. A separate entry point, because only clients need it.

export { meterSocket } from "./meter-socket.ts";
export { MeteredStream } from "./metered-stream.ts";
export { HEADERS_BYTES, PeerBudget } from "./peer-budget.ts";
export { PeerLimitError, peerLimitErrorOf } from "./peer-limit-error.ts";
export { takeSocket } from "./take-socket.ts";
