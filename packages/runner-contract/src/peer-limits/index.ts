// Bounds what a server that nothing vouches for can cost its client. A separate entry, because only clients need it.

export { meterSocket } from "./meter-socket.ts";
export { MeteredStream } from "./metered-stream.ts";
export { HEADERS_BYTES, PeerBudget } from "./peer-budget.ts";
export { PeerLimitError, peerLimitErrorOf } from "./peer-limit-error.ts";
export { takeSocket } from "./take-socket.ts";
