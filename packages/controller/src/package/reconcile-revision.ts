import type { LiveObject, Reconcile } from "@xfn/kubernetes";
import type { Condition } from "../objects/conditions.ts";
import { referenceOf } from "../objects/kinds.ts";
import { isBeingDeleted } from "../objects/owner.ts";
import { findLive, isPaused } from "../objects/read-objects.ts";
import { isEmpty } from "../plan/plan.ts";
import { carryOut } from "./carry-out.ts";
import { withReady } from "./package-conditions.ts";
import type { PackageKinds } from "./package-kinds.ts";
import type { PackagePort } from "./package-port.ts";
import { type Part, planStatus } from "./plan-status.ts";
import { asInstallError, type PackageInstallError } from "./registry/install-error.ts";
import type { PackageImages } from "./registry/package-images.ts";
import { ignoresConstraints, imageOf, RevisionContents } from "./revision-content.ts";
import { RevisionRuntimes } from "./revision-runtime.ts";
import type { WebhookServices } from "./webhooks/own-conversion.ts";

const UNVERIFIED: Condition = { type: "Verified", status: "False", reason: "SignatureVerificationFailed" };

/** The refusal of an invalid package. */
interface Refusal {
  /** The checked subject: see {@link subjectOf}. */
  readonly subject: string;
  readonly part: Part;
}

/**
 * Reconciles revisions of packages: checks the package, installs its dependencies, establishes its objects, and makes
 * its function callable. The key is the revision's name. With `--enable-function-runtimes`, an active revision of a
 * Function owns a FunctionRuntime.
 *
 * The package of a digest never changes, so each is read once. A later outage of the registry has no effect.
 */
export function packageRevisionReconciler(
  port: PackagePort,
  kinds: PackageKinds,
  webhooks?: WebhookServices,
): Reconcile {
  const { cluster, images, now } = port;
  const contents = new RevisionContents(port, kinds, webhooks);
  const runtimes = new RevisionRuntimes(port);
  /** Invalid packages by revision, so that polls do not read them again. */
  const refused = new Map<string, Refusal>();
  return async (name, signal) => {
    await images.whenListed(signal);
    const cached = cluster.informers.peek(kinds.revisionKind)?.get(name);
    if (cached !== undefined && !isBeingDeleted(cached)) {
      if (isPaused(cached)) return undefined;
      const known = recall(images, { contents, runtimes }, cached, refused.get(name));
      if (known !== undefined && isEmpty(planStatus(cached, known, now()))) return undefined;
    }
    const revision = await findLive(cluster, referenceOf(kinds.revisionKind, name), signal);
    if (revision === undefined || isBeingDeleted(revision)) refused.delete(name);
    if (revision === undefined || isBeingDeleted(revision) || isPaused(revision)) return undefined;
    let failure: PackageInstallError | undefined;
    const failed = (type: string, caught: unknown): Part => {
      const error = asInstallError(caught);
      if (signal.aborted || error === undefined) throw caught;
      failure ??= error;
      const condition: Condition = {
        type,
        status: "False",
        reason: "UnhealthyPackageRevision",
        message: error.message,
      };
      return { conditions: [condition], fields: {} };
    };
    const subject = subjectOf(images, revision);
    let checked: Part;
    try {
      if (refused.get(name)?.subject !== subject) refused.delete(name);
      checked = refused.get(name)?.part ?? (await contents.install(revision, signal));
    } catch (error) {
      checked = failed("RevisionHealthy", error);
      if (failure?.code === "Unverified")
        checked = { ...checked, conditions: [...checked.conditions, { ...UNVERIFIED, message: failure.message }] };
      if (failure?.code === "InvalidPackage") refused.set(name, { subject, part: checked });
    }
    const runtime = await runtimes.ensure(revision, signal).catch((error) => failed("RuntimeHealthy", error));
    await carryOut(cluster, revision, planStatus(revision, whole(checked, runtime), now()), signal);
    // The same package would be refused again, so do not retry.
    if (failure !== undefined && failure.code !== "InvalidPackage") throw failure;
    return undefined;
  };
}

/** Everything that determines whether a revision's package is valid. */
function subjectOf(images: PackageImages, revision: LiveObject): string {
  return `${images.settings(imageOf(revision)).image}${ignoresConstraints(revision) ? ", for any Crossplane" : ""}`;
}

/**
 * The status of a revision, as far as the caches show it.
 *
 * @param refusal of a package that the revision had or has
 */
function recall(
  images: PackageImages,
  { contents, runtimes }: { readonly contents: RevisionContents; readonly runtimes: RevisionRuntimes },
  revision: LiveObject,
  refusal: Refusal | undefined,
): Part | undefined {
  const isRefused = refusal?.subject === subjectOf(images, revision);
  const content = isRefused ? refusal.part : contents.recall(revision);
  const runtime = runtimes.recall(revision);
  return content === undefined || runtime === undefined ? undefined : whole(content, runtime);
}

/** The status of a revision from those of its content and of its runtime. */
function whole(content: Part, runtime: Part): Part {
  return {
    conditions: withReady([...content.conditions, ...runtime.conditions]),
    fields: { ...content.fields, endpoint: null, ...runtime.fields },
  };
}
