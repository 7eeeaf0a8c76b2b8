import { describe, expect, test, vi } from "vitest";
import { FunctionIOError } from "../function-io/functionio-error.ts";
import { compose } from "../sdk/compose.ts";
import { fatal } from "../sdk/state.ts";
import { converge } from "./converge.ts";
import { invoke } from "./invoke.ts";

interface XStore {
  apiVersion: "example.org/v1";
  kind: "XStore";
  metadata: { name: string };
  spec: { count: number };
  status?: { ready?: boolean };
}

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop" }, spec: { count: 2 } } as const;
const bucket = (n: number): { apiVersion: "s3.example.org/v1"; kind: "Bucket"; spec: { n: number } } => ({
  apiVersion: "s3.example.org/v1",
  kind: "Bucket",
  spec: { n },
});

const loop = compose<XStore>(({ xr, desired }) => {
  for (let i = 0; i < xr.spec.count; i++) desired.apply(`bucket-${i}`, bucket(i));
  desired.prune(({ name }) => name.startsWith("bucket-"));
  desired.composite.status({ ready: true });
});

describe("invoke", () => {
  test("passes the input to the handler and returns the desired state, as plain objects", async () => {
    const fn = compose(({ config, observed, desired, results }) => {
      desired.apply("copy", { apiVersion: "v1", kind: "A", config, user: observed.connectionDetailsOf("db")["user"] });
      desired.composite.connectionDetail("url", "x");
      results.warning("careful");
    });
    const result = await invoke(fn, {
      xr: XR,
      config: { a: 1, left: undefined },
      observed: { db: { kind: "DB" } },
      connectionDetails: { db: { user: "u" } },
      desired: { earlier: { kind: "E" }, gone: null },
      desiredComposite: { status: { x: 1 } },
      results: [{ severity: "Normal", message: "earlier" }],
    });
    expect(result.desired).toStrictEqual({
      earlier: { kind: "E" },
      gone: null,
      copy: { apiVersion: "v1", kind: "A", config: { a: 1 }, user: "u" },
    });
    expect(result.composite).toStrictEqual({ status: { x: 1 } });
    expect(result.connectionDetails).toEqual({ url: "x" });
    expect(result.results.map(({ message }) => message)).toEqual(["earlier", "careful"]);
    expect(result.fatal).toBeUndefined();
    expect(result.warnings).toEqual([]);
  });

  test("a fatal result is a value, not a throw", async () => {
    expect(
      (
        await invoke(
          compose(() => fatal("no")),
          {},
        )
      ).fatal,
    ).toBe("no");
  });

  test("input is not changed, and cannot be by the handler", async () => {
    const given = { xr: structuredClone(XR), observed: { a: { spec: { n: 1 } } } };
    await invoke(loop, given);
    expect(given).toEqual({ xr: XR, observed: { a: { spec: { n: 1 } } } });
  });

  test("output that a pipeline would refuse is refused here", async () => {
    const fn = compose(({ desired }) =>
      desired.apply("a", { apiVersion: "v1", kind: "A" }, { readinessChecks: [{ type: "NonEmpty" }] }),
    );
    await expect(invoke(fn, {})).rejects.toBeInstanceOf(FunctionIOError);
  });

  test.each([undefined, 1, null, "text", []])(
    "a handler without compose, which returns %j, is refused",
    async (value) => {
      const failure = invoke((() => value) as never, { xr: XR });
      await expect(failure).rejects.toThrow(FunctionIOError);
      await expect(failure).rejects.toThrow("compose(handler)");
    },
  );

  test("warnings of a pipeline are returned", async () => {
    const forgetful = (): never =>
      ({ apiVersion: "apiextensions.crossplane.io/v1alpha1", kind: "FunctionIO", observed: {} }) as never;
    const { warnings } = await invoke(forgetful, { desired: { a: {} } });
    expect(warnings).toEqual([expect.stringContaining('"a"')]);
  });
});

describe("converge", () => {
  test("a function that desires the same every time takes one round", async () => {
    const result = await converge(loop, { xr: XR });
    expect(result.rounds).toBe(1);
    expect(Object.keys(result.desired)).toEqual(["bucket-0", "bucket-1"]);
  });

  test("pruned entries stay deleted", async () => {
    const result = await converge(loop, { xr: XR, observed: { "bucket-2": bucket(2), other: { kind: "O" } } });
    expect(result.desired).toEqual({ "bucket-0": bucket(0), "bucket-1": bucket(1) });
  });

  test("a function may wait for a status, round after round", async () => {
    const chain = compose(({ observed, desired }) => {
      desired.apply("first", bucket(1));
      if (observed.resource<{ status?: { ok?: boolean } }>("first")?.status?.ok) desired.apply("second", bucket(2));
    });
    const result = await converge(chain, { xr: XR }, { status: () => ({ ok: true }) });
    expect(result.rounds).toBe(2);
    expect(Object.keys(result.desired)).toEqual(["first", "second"]);
  });

  test("create only if it is not there: found", async () => {
    const once = compose(({ observed, desired }) => {
      if (observed.resource("a") === undefined) desired.apply("a", bucket(1));
    });
    await expect(converge(once, { xr: XR })).rejects.toThrow(/dropped "a"/);
  });

  test("a desired state that never settles: found, with the path", async () => {
    let n = 0;
    const restless = compose(({ desired }) => desired.apply("a", bucket(n++)));
    await expect(converge(restless, { xr: XR })).rejects.toThrow("resources.a.resource.spec.n");
  });

  test("a fatal result in any round is an error", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const fn = compose(({ observed, desired }) => {
      if (observed.names().length > 0) fatal("second round");
      desired.apply("a", bucket(1));
    });
    await expect(converge(fn, { xr: XR })).rejects.toThrow("second round");
  });
});
