import { expect, test } from "vitest";
import { ApiHealth } from "./api-health.ts";
import { Readiness } from "./readiness.ts";

test("an API server that does not answer for half a minute makes the program not ready, until it answers", () => {
  let now = 0;
  const health = new ApiHealth(() => now);
  const readiness = new Readiness();
  readiness.check(() => health.problem);
  readiness.set("ready");
  const fail = (): void => {
    health.requested({ status: 0 });
    now += 15_000;
  };
  fail();
  fail();
  // Two requests without an answer may be the controller's own aborts.
  expect(readiness.problem).toBeUndefined();
  fail();
  expect(readiness.problem).toContain("API server");
  health.requested({ status: 403 });
  expect(readiness.problem).toBeUndefined();
});

test("a program without requests stays ready", () => {
  let now = 0;
  const health = new ApiHealth(() => now);
  health.requested({ status: 200 });
  now += 3_600_000;
  expect(health.problem).toBeUndefined();
});

test("silence begins with the first request that has no answer, not with the last answer", () => {
  let now = 0;
  const health = new ApiHealth(() => now);
  const fail = (): void => health.requested({ status: 0 });
  health.requested({ status: 200 });
  // An idle controller sends nothing.
  now += 3_600_000;
  for (let count = 0; count < 3; count++) fail();
  now += 29_999;
  fail();
  expect(health.problem).toBeUndefined();
  now += 1;
  expect(health.problem).toContain("for 30 s");
  health.requested({ status: 200 });
  for (let count = 0; count < 3; count++) fail();
  expect(health.problem).toBeUndefined();
});

test("the state of the program counts before its checks", () => {
  const readiness = new Readiness();
  readiness.check(() => "a check");
  expect(readiness.problem).toBe("starting");
  readiness.set("ready");
  expect(readiness.problem).toBe("a check");
  readiness.stop("SIGTERM");
  expect(readiness.problem).toContain("SIGTERM");
});

test("a standby that cannot acquire the lease is not ready, until it can", () => {
  const readiness = new Readiness();
  readiness.set("standby");
  readiness.unready("cannot acquire the lease");
  expect(readiness.problem).toBe("cannot acquire the lease");
  readiness.set("standby");
  expect(readiness.problem).toBeUndefined();
  readiness.stop("SIGTERM");
  readiness.unready("cannot acquire the lease");
  expect(readiness.problem).toContain("SIGTERM");
});
