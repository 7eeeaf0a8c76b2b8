import type { Composition } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import type { SelectedRevision } from "../../revision/select-revision.ts";
import { type ObservedComposed, observedEntries, readConnectionSecret } from "../observe/observe-composed.ts";
import { ReconcileReader } from "../observe/reconcile-reader.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import { requireSupported, runComposition } from "./run-composition.ts";
import { runEnvironment } from "./run-environment.ts";

/** The result of an XR's templates and functions, and the state that they observed. */
export interface ComposedRun {
  readonly composition: Composition;
  /** The fields of the XR's spec that record the selected revision and the environment. */
  readonly changes: JsonObject;
  readonly observed: ObservedComposed;
  /** The observed entries as functions received them. */
  readonly entries: readonly ObservedResource[];
  /** The XR's connection secret, read live; undefined if it does not exist. */
  readonly secret: LiveObject | undefined;
  readonly run: PipelineResult;
}

/**
 * Runs the templates and functions of a revision for an XR. Writes nothing.
 *
 * @throws {CompositeError | PipelineError | ApiError}
 */
export async function compose(
  port: CompositePort,
  subject: Subject,
  { composition, revision, changes }: SelectedRevision,
  observed: ObservedComposed,
): Promise<ComposedRun> {
  requireSupported(port, composition);
  const { actors, limits, shown } = port;
  const { layout, memory, xr } = subject;
  const secret = await readConnectionSecret(new ReconcileReader(actors.xr, memory.writes, port), xr, layout);
  const { allowComposedSecrets } = limits;
  const visibility = { namespace: xr.metadata.namespace, allowComposedSecrets };
  const reader = new ReconcileReader(actors.composition, memory.writes, port);
  const { entries, notes } = await observedEntries(reader, composition, observed, visibility);
  for (const note of notes) shown.warn(note);
  const environment = await runEnvironment(port, subject, composition);
  const run = await runComposition(
    port,
    subject,
    { composition, revision },
    { observed: entries, secret, environment },
  );
  return { composition, changes: { ...changes, ...environment.changes }, observed, entries, secret, run };
}
