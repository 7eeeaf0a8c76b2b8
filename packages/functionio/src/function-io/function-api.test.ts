import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { accumulate } from "./accumulate.ts";
import { API_VERSION, type FunctionIO, KIND, severityOf } from "./functionio.ts";
import { FunctionIOError } from "./functionio-error.ts";
import { entryState } from "./overlay.ts";
import { parseFunctionIO } from "./parse.ts";
import { printFunctionIO } from "./print.ts";

/** The examples of Crossplane's design document "Composition Functions", section "Function API", verbatim. */
function example(name: string): string {
  return readFileSync(new URL(`../../fixtures/function-api/${name}.yaml`, import.meta.url), "utf8");
}

test("the full example is the input of a function", () => {
  const io = parseFunctionIO(example("observed"));
  expect(io.config?.["spec"]).toEqual({ version: "POSTGRES_9_6" });
  expect(io.observed.composite?.resource?.metadata?.name).toBe("my-db");
  expect(io.observed.composite?.resource?.["status"]).toEqual({ conditions: [{ type: "Ready", status: true }] });
  expect(io.observed.composite?.connectionDetails).toEqual([
    { name: "uri", value: "postgresql://db.example.org:5432" },
  ]);
});

test("a function composes a resource with a connection detail and a readiness check", () => {
  const io = parseFunctionIO(example("compose-resource"));
  const [entry] = io.desired?.resources ?? [];
  expect(entry?.name).toBe("cloudsqlinstance");
  expect(entry?.resource?.kind).toBe("CloudSQLInstance");
  expect(entry?.connectionDetails).toEqual([{ name: "hostname", fromConnectionSecretKey: "hostname" }]);
  expect(entry?.readinessChecks).toEqual([{ type: "None" }]);
  expect(entryState(io.desired, "cloudsqlinstance")).toBe("Present");
});

test("a function sets only a connection detail of the XR", () => {
  const io = parseFunctionIO(example("connection-detail"));
  expect(io.desired?.composite?.resource).toBeUndefined();
  expect(io.desired?.composite?.connectionDetails).toEqual([{ type: "FromValue", name: "username", value: "admin" }]);
});

test("a function deletes a resource by null", () => {
  const io = parseFunctionIO(example("delete-resource"));
  expect(entryState(io.desired, "cloudsqlinstance")).toBe("Deleted");
  expect(entryState(io.desired, "another")).toBe("Absent");
});

test("a function that cannot complete ends the pipeline: Error is an alias of Fatal", () => {
  const io = parseFunctionIO(example("error"));
  const before: FunctionIO = { apiVersion: API_VERSION, kind: KIND, observed: {} };
  expect(io.results?.map(severityOf)).toEqual(["Fatal"]);
  expect(accumulate(before, io, "render").fatal?.message).toContain("Could not render");
});

test("the printed error example does not close its quote, and is refused at that quote", () => {
  expect.assertions(2);
  try {
    parseFunctionIO(example("error-as-printed"), { source: "error.yaml" });
  } catch (error) {
    expect(error).toBeInstanceOf(FunctionIOError);
    expect(error).toMatchObject({ code: "Syntax", source: "error.yaml", issues: [{ line: 13, column: 12 }] });
  }
});

test.each(["observed", "compose-resource", "connection-detail", "delete-resource", "error"])(
  "%s survives printing and parsing",
  (name) => {
    const io = parseFunctionIO(example(name));
    expect(parseFunctionIO(printFunctionIO(io))).toEqual(io);
  },
);
