import { randomUUID } from "node:crypto";
import { traitsOf } from "@xfn/composition";
import type { StepMeta } from "@xfn/function-grpc/inspector";
import { type InspectedCall, inspectedCallers, type RunInspector } from "@xfn/pipeline/inspection";
import type { InspectedRun, PipelineInspector } from "../objects/context.ts";
import { Outbox, type OutboxOptions } from "./outbox.ts";

/** The default limit of a gRPC server for one message, with some space for the metadata. */
const MAX_BYTES: number = 4 * 1024 * 1024 - 64 * 1024;

/**
 * Tells a pipeline inspector on a Unix socket of all calls of functions, as Crossplane 2.4 does. Calls do not wait for
 * it, and do not fail with it.
 */
export function pipelineInspector(options: OutboxOptions): PipelineInspector & { close(): void } {
  const outbox = new Outbox(options);
  return {
    inspect: (run, callers) => {
      const inspector = runInspector(run, outbox, options.now);
      return inspectedCallers(callers, inspector, { maxBytes: MAX_BYTES, secrets: run.secrets });
    },
    close: () => outbox.close(),
  };
}

function runInspector(run: InspectedRun, outbox: Outbox, now: () => number): RunInspector {
  const traceId = randomUUID();
  const { steps } = run;
  const subject = subjectOf(run);
  const metas = new Map<InspectedCall, StepMeta>();
  const begin = (call: InspectedCall): StepMeta => {
    const { step: stepName, iteration } = call;
    const stepIndex = steps.findIndex(({ name }) => name === stepName);
    const step = steps[stepIndex];
    // The query of a webhook's URL can contain a secret.
    const [functionName = ""] = step === undefined ? [] : traitsOf(step).target.split("?", 1);
    const at = now();
    const timestamp = { seconds: BigInt(Math.floor(at / 1000)), nanos: (at % 1000) * 1_000_000 };
    const spanId = randomUUID();
    return { timestamp, traceId, spanId, stepIndex, stepName, iteration, functionName, ...subject };
  };
  return {
    requested: (call, render) => {
      const meta = begin(call);
      metas.set(call, meta);
      outbox.add({
        functionName: meta.functionName,
        type: "request",
        emit: async (client) => {
          const request = render();
          if (request === undefined) return false;
          await client.emitRequest({ request: Buffer.from(request), meta });
          return true;
        },
      });
    },
    responded: (call, render) => {
      const meta = metas.get(call) ?? begin(call);
      metas.delete(call);
      outbox.add({
        functionName: meta.functionName,
        type: "response",
        emit: async (client) => {
          const rendered = render();
          if (rendered === undefined) return false;
          const { response, error } = rendered;
          await client.emitResponse({ response: Buffer.from(response), error, meta });
          return true;
        },
      });
    },
  };
}

function subjectOf({ object, composition }: InspectedRun): Pick<StepMeta, "compositionMeta" | "operationMeta"> {
  const { apiVersion, kind, metadata } = object;
  if (composition === undefined) return { operationMeta: { operationName: metadata.name, operationUid: metadata.uid } };
  return {
    compositionMeta: {
      compositionName: composition,
      compositeResourceUid: metadata.uid,
      compositeResourceName: metadata.name,
      compositeResourceNamespace: metadata.namespace ?? "",
      compositeResourceApiVersion: apiVersion,
      compositeResourceKind: kind,
    },
  };
}
