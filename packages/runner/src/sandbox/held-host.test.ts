import { expect, test } from "vitest";
import { HeldHost, NO_HOST } from "./held-host.ts";
import type { SandboxHost } from "./sandbox-host.ts";

test("a host is acquired once, and released with the call", () => {
  const calls: string[] = [];
  const host = { acquire: () => calls.push("acquire"), release: () => calls.push("release") } as unknown as SandboxHost;
  {
    using held = new HeldHost(() => host);
    held.check();
    expect(calls).toEqual(["acquire"]);
  }
  expect(calls).toEqual(["acquire", "release"]);
});

test("the reason why there is no host is thrown only by a call that needs the host", () => {
  const missing = new Error("no runtime");
  using held = new HeldHost(() => {
    throw missing;
  });
  expect(() => held.check()).toThrow(missing);
  expect(() => NO_HOST.check()).not.toThrow();
});
