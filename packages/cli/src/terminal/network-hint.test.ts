import { expect, test } from "vitest";
import { networkHint } from "./network-hint.ts";

test.each([
  "TypeError: fetch failed\n  cause: Error: getaddrinfo EAI_AGAIN example.org",
  "connect ENETUNREACH 192.0.2.1:443",
  "socket.gaierror: [Errno -3] Temporary failure in name resolution",
  "OSError: [Errno 101] Network is unreachable",
  "dial tcp: lookup example.org on [::1]:53: read: connection refused",
  "wget: bad address 'example.org'",
  "curl: (6) Could not resolve host: example.org",
])("names the setting after %j", (text) => {
  expect(networkHint([undefined, text], "x: y")).toBe("functions have no network unless x: y");
});

test("is absent after other failures", () => {
  expect(networkHint([undefined, "TypeError: x is undefined", ""], "x: y")).toBeUndefined();
});
