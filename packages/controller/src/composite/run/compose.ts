import { type Composition, callsFunctions } from "@xfn/composition";
import type { ObservedResource } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { LiveObject } from "@xfn/kubernetes";
import type { PipelineResult } from "@xfn/pipeline";
import type { SelectedRevision } from "../../revision/select-revision.ts";
import type { ObservedComposed } from "../observe/observe-composed.ts";
import { observedEntries } from "../observe/observed-entries.ts";
import { readConnectionSecret } from "../observe/read-connection-secret.ts";
import type { CompositePort, Subject } from "../state/composite-port.ts";
import { requireSupported } from "./require-supported.ts";
import { runComposition } from "./run-composition.ts";
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
  if (!isPure(composition)) memory.settled.sawOther();
  const secret = await readConnectionSecret(actors.reader("xr"), xr, layout);
  const { allowComposedSecrets } = limits;
  const visibility = { namespace: xr.metadata.namespace, allowComposedSecrets };
  const { entries, notes } = await observedEntries(actors.reader("composition"), composition, observed, visibility);
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

/** Whether a Composition consists only of templates that read no Secrets. */
function isPure(composition: Composition): boolean {
  const { environment, resources } = composition.spec;
  if (callsFunctions(composition) || environment !== undefined) return false;
  return resources.every(({ connectionDetails }) => (connectionDetails ?? []).length === 0);
}
