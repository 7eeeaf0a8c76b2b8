// The sandbox host, for tests that send it requests directly.
export { MAX_CONFIGS } from "../src/host/protocol.ts";
export { SandboxHost } from "../src/sandbox/sandbox-host.ts";
