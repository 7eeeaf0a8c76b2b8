import assert from "node:assert/strict";
import { extractConnectionDetails, isReady } from "@xfn/composition";
import { parseFunctionIO } from "@xfn/functionio";
import type { JsonObject, JsonValue } from "@xfn/json";
import { printJson } from "@xfn/json/text";
import { mutatedValue, vectorInputs } from "../mutate.ts";
import { type Target, target } from "../target.ts";
import { assertClean } from "./field-path.ts";

const CORPUS: JsonObject[] = [...vectorInputs("readiness"), ...vectorInputs("connection-details")];

/** Evaluates readiness checks and connection details of functions for an observed resource. */
export const observed: Target = target<JsonObject>({
  input: mutatedValue(CORPUS).filter(isJson),
  run: (input) => {
    const { resource, readinessChecks, connectionDetails, source } = input;
    const io = parseFunctionIO(
      printJson({
        apiVersion: "apiextensions.crossplane.io/v1alpha1",
        kind: "FunctionIO",
        desired: {
          resources: [
            {
              name: "one",
              resource: resource ?? null,
              ...(readinessChecks !== undefined && { readinessChecks }),
              ...(connectionDetails !== undefined && { connectionDetails }),
            },
          ],
        },
      }),
    );
    const one = io.desired?.resources?.[0];
    const object = one?.resource ?? undefined;
    if (one === undefined || object === undefined) return;
    const from = source === "template" ? "template" : "function";
    extractConnectionDetails({ details: one.connectionDetails ?? [], resource: object, secret: new Map([["a", "x"]]) });
    assert.equal(typeof isReady(object, one.readinessChecks, from), "boolean");
    assertClean();
  },
});

/** Whether JSON can represent a value. The generators create NaN, too. */
function isJson(value: JsonValue): boolean {
  try {
    printJson(value);
    return true;
  } catch {
    return false;
  }
}
