import type { ServedRunOptions } from "@xfn/runner-grpc";
import { expect, test } from "vitest";
import { parseImagePattern } from "../service/image-patterns.ts";
import { type OperatorPolicy, permit } from "./operator-policy.ts";

const OPEN: OperatorPolicy = {
  maxTimeout: 60_000,
  maxMemory: undefined,
  maxCpu: undefined,
  defaultMemory: undefined,
  defaultCpu: undefined,
  maxPids: 100,
  allowImages: [],
  allowNetwork: false,
  allowChroot: false,
  wasmOnly: false,
  allowOciLayouts: false,
  defaultRegistry: undefined,
};

function call(asked: Partial<ServedRunOptions> = {}, socket: "path" | "tcp" = "path"): ServedRunOptions {
  const caller = { socket, authentication: "token", address: "x" } as const;
  return { signal: new AbortController().signal, onPhase: () => {}, onStderr: () => {}, caller, ...asked };
}

const denied: unknown = expect.objectContaining({ code: "PermissionDenied", status: "PERMISSION_DENIED" });

test("runs functions in chroots only if that is allowed", () => {
  const policy = { ...OPEN, allowNetwork: true, maxPids: undefined };
  const chroot = call({ type: "Chroot", network: "Accessible" });
  expect(() => permit("a", chroot, policy)).toThrow(denied);
  expect(permit("a", chroot, { ...policy, allowChroot: true }).options).toMatchObject({ type: "Chroot" });
});

test("runs modules alone if the operator says so", () => {
  const policy = { ...OPEN, wasmOnly: true, allowNetwork: true, allowChroot: true };
  expect(permit("a", call(), policy).options).toMatchObject({ type: "Wasm" });
  expect(() => permit("a", call({ type: "Chroot", network: "Accessible" }), policy)).toThrow(/--wasm-only/);
  expect(() => permit("a", call(), policy, "package")).toThrow(/--wasm-only/);
});

test("accepts a request for the maximum, and rejects more", () => {
  const policy = { ...OPEN, maxMemory: 1000, maxCpu: 0.5 };
  expect(permit("a", call({ timeoutMs: 60_000, memoryBytes: 1000, cpus: 0.5 }), policy).options).toMatchObject({
    timeoutMs: 60_000,
    memoryBytes: 1000,
    cpus: 0.5,
  });
  for (const more of [{ timeoutMs: 60_001 }, { memoryBytes: 1001 }, { cpus: 0.51 }]) {
    expect(() => permit("a", call(more), policy)).toThrow(denied);
  }
});

test("a call without a limit gets the default, else the maximum, else none", () => {
  const limits = (policy: Partial<OperatorPolicy>): unknown => {
    const { memoryBytes, cpus } = permit("a", call(), { ...OPEN, ...policy }).options;
    return [memoryBytes, cpus];
  };
  expect(limits({})).toEqual([undefined, undefined]);
  expect(limits({ maxMemory: 1000, maxCpu: 2 })).toEqual([1000, 2]);
  expect(limits({ maxMemory: 1000, maxCpu: 2, defaultMemory: 10, defaultCpu: 0.1 })).toEqual([10, 0.1]);
  expect(limits({ defaultMemory: 10 })).toEqual([10, undefined]);
});

test("bounds processes, and the default timeout", () => {
  expect(permit("a", call(), OPEN).options).toMatchObject({ pids: 100, timeoutMs: 10_000 });
  expect(permit("a", call(), { ...OPEN, maxTimeout: 3000 }).options.timeoutMs).toBe(3000);
});

test("accepts the runner's network only if it is allowed", () => {
  expect(() => permit("a", call({ network: "Accessible" }), OPEN)).toThrow(denied);
  const { options } = permit("a", call({ network: "Accessible" }), { ...OPEN, allowNetwork: true });
  expect(options.network).toBe("Accessible");
});

test("accepts layouts on a path socket, and elsewhere only if they are allowed", () => {
  expect(permit("oci:/a", call(), OPEN).image).toBe("oci:/a");
  expect(() => permit("oci:/a", call({}, "tcp"), OPEN)).toThrow(denied);
  expect(permit("oci:/a", call({}, "tcp"), { ...OPEN, allowOciLayouts: true }).image).toBe("oci:/a");
});

test("rejects an unlisted image on every socket, layouts included", () => {
  const policy = { ...OPEN, allowImages: [parseImagePattern("ghcr.io/team", undefined)] };
  expect(permit("GHCR.io/team/fn", call(), policy).image).toBe("ghcr.io/team/fn:latest");
  for (const image of ["ghcr.io/other", "oci:/ghcr.io/team"])
    expect(() => permit(image, call(), policy)).toThrow(denied);
});

test("passes all other options on, except the caller", () => {
  const asked = { step: "s", pullPolicy: "Never", auth: { username: "a" } } as const;
  const { options } = permit("a", call(asked), OPEN);
  expect(options).toMatchObject(asked);
  expect(options).not.toHaveProperty("caller");
});
