import type { StepMeta } from "@xfn/function-grpc/inspector";
import type { JsonObject } from "@xfn/json";
import pico from "picocolors";
import { expect, test } from "vitest";
import { printCall, titleOfRun } from "./print-call.ts";
import type { ReceivedMessage } from "./received-message.ts";

const PLAIN = pico.createColors(false);
const META: StepMeta = {
  timestamp: { seconds: 1n, nanos: 500_000_000 },
  traceId: "3f2a9c01-run",
  spanId: "span",
  stepIndex: 0,
  stepName: "compose",
  iteration: 0,
  functionName: "function-compose",
};
const HEAD = "1. compose function-compose 00:00:01.500Z: 12 ms";

function message(type: "request" | "response", document: JsonObject | undefined, error = ""): ReceivedMessage {
  return { type, meta: META, document, error, bytes: 1, at: 1_512 };
}

function print(request: JsonObject | undefined, response: JsonObject | undefined, error = ""): string[] {
  const given = request && message("request", request);
  return printCall(given, message("response", response, error), PLAIN).split("\n");
}

const server = (size: string): JsonObject => ({ resource: { kind: "Server", spec: { size } } });

test("shows the entries, the XR and the context that a function adds, changes and drops", () => {
  const observed = { resources: { old: server("s") } };
  const request = { observed, desired: { resources: { same: server("s"), changed: server("s"), gone: server("s") } } };
  const desired = { composite: { resource: { kind: "XDatabase", status: { a: 1 } } } };
  const resources = { same: server("s"), changed: server("m"), old: server("s"), fresh: server("s") };
  expect(print(request, { desired: { ...desired, resources }, context: { b: 2 } })).toEqual([
    HEAD,
    "   ~ changed (Server)",
    "   @@ -1 +1 @@",
    "    resource:",
    "      kind: Server",
    "      spec:",
    "   -    size: s",
    "   +    size: m",
    "   - gone (Server): no longer desired",
    "   + XR (XDatabase): added",
    "   +resource:",
    "   +  kind: XDatabase",
    "   +  status:",
    "   +    a: 1",
    "   + old (Server): added",
    "   +resource:",
    "   +  kind: Server",
    "   +  spec:",
    "   +    size: s",
    "   + fresh (Server): added, does not exist yet",
    "   +resource:",
    "   +  kind: Server",
    "   +  spec:",
    "   +    size: s",
    "   + context: added",
    "   +b: 2",
  ]);
});

test("reads the lists of a FunctionIO", () => {
  const io = (size: string): JsonObject => ({ desired: { resources: [{ name: "main", ...server(size) }] } });
  expect(print(io("s"), io("m"))).toContain("   ~ main (Server)");
  expect(print(io("s"), io("s"))).toEqual([HEAD, "   changes nothing"]);
});

test("shows results, conditions, requirements and failures", () => {
  expect(
    print(
      { desired: {} },
      {
        desired: {},
        results: [{ severity: "SEVERITY_WARNING", message: "nearly full" }],
        conditions: [{ type: "Full", status: "STATUS_CONDITION_FALSE", reason: "Space" }],
        requirements: { resources: { zones: {} } },
      },
    ),
  ).toEqual([
    HEAD,
    "   changes nothing",
    "   warning: nearly full",
    "   condition Full: false, Space",
    "   requires zones",
  ]);
  expect(print({ desired: {} }, undefined, "it crashed\nat once")).toEqual([
    HEAD,
    "   failed: it crashed",
    "   at once",
  ]);
  expect(print(undefined, { desired: {} })).toEqual([HEAD, "   its request was not received, so nothing is compared"]);
});

test("escapes control characters of others everywhere", () => {
  const evil = "\u001b[2J\u009b";
  const meta: StepMeta = {
    ...META,
    stepName: evil,
    functionName: evil,
    traceId: evil,
    compositionMeta: {
      compositionName: evil,
      compositeResourceUid: "",
      compositeResourceName: evil,
      compositeResourceNamespace: evil,
      compositeResourceApiVersion: "",
      compositeResourceKind: evil,
    },
  };
  const document = {
    desired: { resources: { [evil]: { resource: { kind: evil, [evil]: evil } } } },
    results: [{ severity: evil, message: evil }],
    conditions: [{ type: evil, status: evil, reason: evil, message: evil }],
    requirements: { resources: { [evil]: {} } },
  };
  const response = { ...message("response", document, evil), meta };
  const text = printCall(message("request", { desired: {} }), response, PLAIN) + titleOfRun(meta, PLAIN);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the subject of the test
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  const operation = { ...META, operationMeta: { operationName: evil, operationUid: "" } };
  expect(titleOfRun(operation, PLAIN)).toBe("Operation \\x1b[2J\\x9b, run 3f2a9c01");
});

test("a call with many changes is cut", () => {
  const resources = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`r${at}`, server("s")]));
  const lines = print({ desired: {} }, { desired: { resources } });
  expect(lines).toHaveLength(102);
  expect(lines.at(-1)).toBe("   ... and 900 more lines (-o json has them)");
});
