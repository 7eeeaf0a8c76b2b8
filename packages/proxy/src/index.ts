export { openTunnel } from "./open-tunnel.ts";
export { type Environment, proxyOf } from "./proxy-of.ts";
export { unbracketed } from "./unbracketed.ts";
