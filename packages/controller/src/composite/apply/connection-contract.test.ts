import { checkComposition, documentOf } from "@xfn/composition";
import type { PipelineResult } from "@xfn/pipeline";
import { expect, test } from "vitest";
import { emptyMemory } from "../state/composite-memory.ts";
import type { Subject } from "../state/composite-port.ts";
import { NO_CALLBACKS, Shown } from "../state/shown.ts";
import { brokenContract } from "./connection-contract.ts";

const { composition: COMPOSITION } = checkComposition(
  documentOf({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "Composition",
    metadata: { name: "c" },
    spec: {
      compositeTypeRef: { apiVersion: "example.org/v1", kind: "Db" },
      resources: [
        {
          name: "a",
          base: { apiVersion: "v1", kind: "A" },
          connectionDetails: [{ fromConnectionSecretKey: "password" }],
        },
      ],
    },
  }),
);

test("an XR waits longer each time for details that do not come, and begins anew once they have come", () => {
  if (COMPOSITION === undefined) throw new TypeError("the Composition of this test is invalid");
  const composition = COMPOSITION;
  const memory = emptyMemory("x", () => 0);
  const check = (...details: [string, string][]): { readonly reason?: string; readonly waitMs?: number } => {
    const shown = new Shown(NO_CALLBACKS);
    const definition = { kind: "InfrastructureDefinition", spec: { connectionSecretKeys: ["password"] } };
    const subject = { definition, memory, xr: {} } as unknown as Subject;
    const connectionDetails = details as unknown as PipelineResult["connectionDetails"];
    const reason = brokenContract(shown, subject, composition, { connectionDetails })?.reason;
    return { ...(reason && { reason }), ...(shown.slowedMs !== undefined && { waitMs: shown.slowedMs }) };
  };
  const waits = Array.from({ length: 12 }, () => check());
  expect(waits.every(({ reason }) => reason === "Creating")).toBe(true);
  expect(waits[0]?.waitMs).toBeLessThanOrEqual(2_000);
  expect(waits.at(-1)?.waitMs).toBeGreaterThanOrEqual(30_000);
  expect(check(["password", "s3cr3t"])).toEqual({});
  expect(check().waitMs).toBeLessThanOrEqual(2_000);
});
