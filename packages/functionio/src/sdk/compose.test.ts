import type { KubernetesObject } from "@xfn/json";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { desired as desiredState, io } from "../../testing/arbitraries.ts";
import type { FunctionIO } from "../function-io/functionio.ts";
import { compose, type } from "./compose.ts";
import type { StandardSchema } from "./standard-schema.ts";
import { fatal } from "./state.ts";

const XR = { apiVersion: "example.org/v1", kind: "XStore", metadata: { name: "shop", uid: "1" }, spec: { size: 2 } };

/** A FunctionIO as the SDK gets it: parsed, so that no other object refers to it. */
function input(parts: Partial<FunctionIO> = {}): FunctionIO {
  return structuredClone({ ...io({ observed: { composite: { resource: XR } } }), ...parts }) as FunctionIO;
}

function resources(output: FunctionIO): Record<string, KubernetesObject | null> {
  return Object.fromEntries((output.desired?.resources ?? []).map(({ name, resource }) => [name, resource]));
}

const BUCKET = { apiVersion: "s3.example.org/v1", kind: "Bucket", spec: { region: "eu" } } as const;

afterEach(() => vi.restoreAllMocks());

describe("nothing is forgotten", () => {
  test("a handler that does nothing returns its input", async () => {
    const fn = compose(() => {});
    await fc.assert(
      fc.asyncProperty(desiredState, async (desired) => {
        const given = input({ desired, results: [{ severity: "Normal", message: "earlier" }], extra: 1 });
        const output = await fn(structuredClone(given));
        expect(output).toEqual(desired.resources?.length === 0 ? { ...given, desired: {} } : given);
      }),
      { numRuns: 50 },
    );
  });

  test("entries of earlier steps keep unmentioned fields, and their position", async () => {
    const fn = compose(({ desired }) => {
      desired.apply("b", { ...BUCKET, spec: { tags: ["x"] } });
      desired.apply("c", BUCKET);
    });
    const earlier = [
      { name: "a", resource: { kind: "A" }, extra: true },
      { name: "b", resource: { ...BUCKET }, readinessChecks: [{ type: "None" as const }] },
    ];
    const output = await fn(input({ desired: { resources: earlier, unknown: "kept" } }));
    expect(output.desired).toEqual({
      unknown: "kept",
      resources: [
        earlier[0],
        {
          name: "b",
          resource: { ...BUCKET, spec: { region: "eu", tags: ["x"] } },
          readinessChecks: [{ type: "None" }],
        },
        { name: "c", resource: BUCKET },
      ],
    });
  });
});

describe("desired", () => {
  test("apply copies: later changes to the object do nothing, undefined fields are left out", async () => {
    const resource = { apiVersion: "v1", kind: "ConfigMap", data: { a: "1", b: undefined as string | undefined } };
    const output = await compose(({ desired }) => {
      desired.apply("a", resource);
      resource.data.a = "2";
    })(input());
    expect(resources(output)).toEqual({ a: { apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } } });
    expect(Object.keys((resources(output)["a"] as { data: object }).data)).toEqual(["a"]);
  });

  test("apply refuses to lay a kind over another; set replaces it", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const given = {
      desired: { resources: [{ name: "a", resource: { apiVersion: "v1", kind: "Secret", data: { x: "y" } } }] },
    };
    const clash = await compose(({ desired }) => desired.apply("a", BUCKET))(input(given));
    expect(clash.results?.[0]?.message).toContain("desired.set");
    const replaced = await compose(({ desired }) => desired.set("a", BUCKET))(input(given));
    expect(resources(replaced)).toEqual({ a: BUCKET });
  });

  test("options replace those of an earlier step", async () => {
    const fn = compose(({ desired }) => {
      desired.apply("a", BUCKET, {
        readinessChecks: [{ type: "MatchTrue", fieldPath: "status.ok" }],
        connectionDetails: [{ fromConnectionSecretKey: "user" }],
      });
    });
    const given = {
      desired: { resources: [{ name: "a", resource: null, readinessChecks: [{ type: "None" as const }] }] },
    };
    expect((await fn(input(given))).desired?.resources).toEqual([
      {
        name: "a",
        resource: BUCKET,
        readinessChecks: [{ type: "MatchTrue", fieldPath: "status.ok" }],
        connectionDetails: [{ fromConnectionSecretKey: "user" }],
      },
    ]);
  });

  test("patch overlays fields on existing entries only", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const given = {
      desired: {
        resources: [
          { name: "a", resource: { ...BUCKET } },
          { name: "gone", resource: null },
        ],
      },
    };
    const labels = { metadata: { labels: { team: "x" } } };
    const output = await compose(({ desired }) => {
      for (const name of desired.names()) if (desired.resource(name)) desired.patch(name, labels);
    })(input(given));
    expect(resources(output)).toEqual({ a: { ...BUCKET, ...labels }, gone: null });
    const missing = await compose(({ desired }) => desired.patch("gone", labels))(input(given));
    expect(missing.results?.[0]?.severity).toBe("Fatal");
  });

  test("delete nulls an entry, whether or not it was there", async () => {
    const output = await compose(({ desired }) => {
      desired.delete("a");
      desired.delete("b");
    })(input({ desired: { resources: [{ name: "a", resource: {}, readinessChecks: [] }] } }));
    expect(output.desired?.resources).toEqual([
      { name: "a", resource: null },
      { name: "b", resource: null },
    ]);
  });

  test("prune deletes entries that are observed, match, and are not desired", async () => {
    const observed = {
      composite: { resource: XR },
      resources: ["bucket-0", "bucket-1", "bucket-2", "other"].map((name) => ({ name, resource: { kind: "Bucket" } })),
    };
    const fn = compose(({ desired }) => {
      desired.prune(({ name, resource }) => name.startsWith("bucket-") && resource.kind === "Bucket");
      for (let i = 0; i < 2; i++) desired.apply(`bucket-${i}`, BUCKET);
    });
    expect(resources(await fn(input({ observed })))).toEqual({
      "bucket-0": BUCKET,
      "bucket-1": BUCKET,
      "bucket-2": null,
    });
  });

  test("the XR: status, fields and connection details", async () => {
    const output = await compose(({ desired }) => {
      desired.composite.status({ ready: true, nested: { a: 1 } });
      desired.composite.status({ nested: { b: 2 } });
      desired.composite.patch({ metadata: { labels: { a: "b" } } });
      desired.composite.connectionDetail("url", "x");
      desired.composite.connectionDetail("url", "y");
    })(input({ desired: { composite: { connectionDetails: [{ name: "user", value: "u" }] } } }));
    expect(output.desired?.composite).toEqual({
      resource: {
        apiVersion: "example.org/v1",
        kind: "XStore",
        metadata: { name: "shop", labels: { a: "b" } },
        status: { ready: true, nested: { a: 1, b: 2 } },
      },
      connectionDetails: [
        { name: "user", value: "u" },
        { name: "url", value: "y" },
      ],
    });
  });

  test("methods can be taken out of their object", async () => {
    const output = await compose(({ desired: { apply, delete: remove }, results: { warning } }) => {
      apply("a", BUCKET);
      remove("b");
      warning("w");
    })(input());
    expect(resources(output)).toEqual({ a: BUCKET, b: null });
    expect(output.results).toEqual([{ severity: "Warning", message: "w" }]);
  });

  test("entry names that are keys of every object", async () => {
    const output = await compose(({ desired, observed }) => {
      expect(observed.resource("constructor")).toBeUndefined();
      expect(observed.connectionDetails["toString"]).toBeUndefined();
      desired.apply("__proto__", { ...BUCKET, ["__proto__"]: { polluted: 1 } });
    })(input());
    expect(output.desired?.resources?.[0]?.name).toBe("__proto__");
    expect(Object.keys(output.desired?.resources?.[0]?.resource ?? {})).toContain("__proto__");
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  test.each<[string, unknown]>([
    ["NaN", Number.NaN],
    ["an integer that lost digits", 2 ** 60],
    ["a function", () => 1],
    ["a Date", new Date(0)],
    ["a Map", new Map()],
    ["half a surrogate pair", "\ud800"],
    ["undefined in a list", [undefined]],
    ["a symbol", Symbol("x")],
  ])("%s in a resource is a fatal result that names the field", async (_name, value) => {
    vi.spyOn(console, "error").mockReturnValue();
    const output = await compose(({ desired }) => desired.apply("a", { ...BUCKET, spec: { field: value } }))(input());
    expect(output.results?.[0]).toMatchObject({ severity: "Fatal", message: expect.stringContaining("a.spec.field") });
  });

  test("a cycle is a fatal result", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const output = await compose(({ desired }) => desired.apply("a", { ...BUCKET, loop }))(input());
    expect(output.results?.[0]?.severity).toBe("Fatal");
  });

  test("64-bit integers pass through", async () => {
    const observed = { composite: { resource: { ...XR, spec: { id: 9223372036854775807n } } } };
    const output = await compose(({ xr, desired }) =>
      desired.apply("a", { ...BUCKET, id: (xr["spec"] as { id: bigint }).id, one: 1n }),
    )(input({ observed }));
    expect(resources(output)["a"]).toMatchObject({ id: 9223372036854775807n, one: 1 });
  });
});

describe("observed", () => {
  test("resources, names and connection details by entry name", async () => {
    const observed = {
      composite: { resource: XR, connectionDetails: [{ name: "a", value: "b" }] },
      resources: [
        {
          name: "db",
          resource: { kind: "DB", status: { host: "h" } },
          connectionDetails: [{ name: "user", value: "u" }],
        },
      ],
    };
    await compose(({ observed, desired }) => {
      expect(observed.names()).toEqual(["db"]);
      expect(observed.resource<{ status: { host: string } }>("db")?.status.host).toBe("h");
      expect(observed.resource("none")).toBeUndefined();
      expect(observed.connectionDetails).toEqual({ a: "b" });
      expect(observed.connectionDetailsOf("db")["user"]).toBe("u");
      expect(observed.connectionDetailsOf("none")).toEqual({});
      desired.apply("seen", BUCKET);
    })(input({ observed })).constructor;
  });

  test("modifying observed state throws, and is not returned", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const observed = { composite: { resource: XR }, resources: [{ name: "a", resource: { spec: { list: [1] } } }] };
    for (const change of [
      (c: { xr: unknown }) => ((c.xr as { spec: { size: number } }).spec.size = 3),
      (c: { observed: { resource: (n: string) => unknown } }) =>
        (c.observed.resource("a") as { spec: { list: number[] } }).spec.list.push(2),
    ]) {
      const output = await compose((context) => void change(context))(input({ observed }));
      expect(output.results?.[0]?.severity).toBe("Fatal");
      expect(output.observed).toEqual(observed);
    }
  });
});

describe("errors", () => {
  test("a throw is one fatal result: desired state as it was, earlier results kept", async () => {
    const error = vi.spyOn(console, "error").mockReturnValue();
    const given = input({
      desired: { resources: [{ name: "a", resource: { n: 1 } }] },
      results: [{ severity: "Warning", message: "earlier" }],
    });
    const output = await compose(({ desired, results }) => {
      desired.apply("b", BUCKET);
      desired.delete("a");
      results.normal("before the throw");
      throw new RangeError("boom");
    })(structuredClone(given));
    expect(output.desired).toEqual(given.desired);
    expect(output.results).toEqual([
      { severity: "Warning", message: "earlier" },
      { severity: "Normal", message: "before the throw" },
      { severity: "Fatal", message: "RangeError: boom" },
    ]);
    expect(error).toHaveBeenCalledWith(expect.objectContaining({ message: "boom" }));
  });

  test("fatal ends the handler with its message and no stack", async () => {
    const error = vi.spyOn(console, "error").mockReturnValue();
    const output = await compose(() => fatal("no region"))(input());
    expect(output.results).toEqual([{ severity: "Fatal", message: "no region" }]);
    expect(error).not.toHaveBeenCalled();
  });

  test.each<[string, () => unknown]>([
    ["a value", () => ({ desired: {} })],
    ["a promise of a value", () => Promise.resolve(1)],
    ["null", () => null],
  ])("returning %s is an error, not a silent nothing", async (_name, handler) => {
    vi.spyOn(console, "error").mockReturnValue();
    const output = await compose(handler as () => void)(input());
    expect(output.results?.[0]?.message).toContain("returned a value");
  });

  test("an asynchronous handler that rejects is a fatal result", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const output = await compose(async () => {
      await Promise.resolve();
      throw "text"; // oxlint-disable-line no-throw-literal
    })(input());
    expect(output.results).toEqual([{ severity: "Fatal", message: "text" }]);
  });

  test("a synchronous handler answers synchronously", () => {
    expect(compose(() => {})(input())).not.toBeInstanceOf(Promise);
  });

  test("writes after the handler ended throw", async () => {
    const late: (() => void)[] = [];
    await compose(({ desired, results }) => {
      late.push(
        () => desired.apply("a", BUCKET),
        () => desired.set("a", BUCKET),
        () => desired.patch("a", {}),
        () => desired.delete("a"),
        () => desired.prune(() => true),
        () => desired.composite.status({}),
        () => desired.composite.patch({}),
        () => desired.composite.connectionDetail("a", "b"),
        () => results.normal("x"),
        () => results.warning("x"),
      );
    })(input());
    for (const write of late) expect(write).toThrow("after the handler ended");
  });
});

describe("config", () => {
  /** A schema with the behaviour of validators: it returns another value, and puts what it got into its messages. */
  const schema: StandardSchema<{ size?: number }, { size: number }> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate(value) {
        const size = (value as { size?: unknown } | undefined)?.size ?? 1;
        if (typeof size === "number") return { value: { size } };
        return { issues: [{ message: `Expected number, received ${String(size)}`, path: ["size"] }] };
      },
    },
  };

  test("is the output of its schema", async () => {
    const seen: number[] = [];
    const fn = compose({ config: schema }, ({ config }) => void seen.push(config.size));
    await fn(input({ config: { size: 3 } }));
    await fn(input());
    expect(seen).toEqual([3, 1]);
  });

  test("that does not fit is a fatal result with its path, without the value: it may be a secret", async () => {
    const output = await compose({ config: schema }, () => {})(input({ config: { size: "hunter2" } }));
    expect(output.results).toEqual([{ severity: "Fatal", message: "config.size: Expected number, received ..." }]);
  });

  test("may be checked asynchronously", async () => {
    const slow: StandardSchema<unknown, { n: number }> = {
      "~standard": { version: 1, vendor: "test", validate: async () => Promise.resolve({ value: { n: 5 } }) },
    };
    const output = await compose({ config: slow }, ({ config, results }) => results.normal(String(config.n)))(input());
    expect(output.results).toEqual([{ severity: "Normal", message: "5" }]);
  });

  test("of a type is required", async () => {
    const output = await compose({ config: type<{ n: number }>() }, () => {})(input());
    expect(output.results).toEqual([{ severity: "Fatal", message: "config: is missing" }]);
  });

  test("the XR can have a schema too", async () => {
    const fn = compose({ composite: type<{ spec: { size: number } }>() }, ({ xr, results }) =>
      results.normal(String(xr.spec.size)),
    );
    expect((await fn(input())).results).toEqual([{ severity: "Normal", message: "2" }]);
    expect((await fn(input({ observed: {} }))).results?.[0]?.message).toBe("composite: is missing");
  });
});
