import { expect, test } from "vitest";
import { SANDBOX_HOST_ID, sandboxOwner } from "./sandbox-owner.ts";

test("an ordinary user's functions run as that user", () => {
  expect(sandboxOwner(1000, "0 0 4294967295")).toBeUndefined();
});

test("root's functions run as an id that owns nothing", () => {
  expect(sandboxOwner(0, "         0          0 4294967295\n")).toEqual({ uid: SANDBOX_HOST_ID, gid: SANDBOX_HOST_ID });
});

test("root of a user namespace with few ids takes the last one that exists there", () => {
  expect(sandboxOwner(0, "0 1000 1\n1 100000 65536\n")).toEqual({ uid: 65536, gid: 65536 });
});

test("root of a user namespace with one id is an ordinary user", () => {
  expect(sandboxOwner(0, "0 1000 1\n")).toBeUndefined();
});
