import { expect, test } from "vitest";
import { HostLease, NO_HOST } from "./host-lease.ts";
import type { SandboxHost } from "./sandbox-host.ts";

test("a host is acquired once, and released with the call", () => {
  const calls: string[] = [];
  const host = { acquire: () => calls.push("acquire"), release: () => calls.push("release") } as unknown as SandboxHost;
  {
    using lease = new HostLease(() => host);
    lease.check();
    expect(calls).toEqual(["acquire"]);
  }
  expect(calls).toEqual(["acquire", "release"]);
});

test("the reason why there is no host is thrown only by a call that needs the host", () => {
  const missing = new Error("no runtime");
  using lease = new HostLease(() => {
    throw missing;
  });
  expect(() => lease.check()).toThrow(missing);
  expect(() => NO_HOST.check()).not.toThrow();
});
