// The process that holds the namespaces, for tests that send it requests of their own.
export { MAX_SPECS } from "../src/host/protocol.ts";
export { SandboxHost } from "../src/sandbox/sandbox-host.ts";
