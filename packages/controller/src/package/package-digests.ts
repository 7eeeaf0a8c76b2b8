import type { LiveObject } from "@xfn/kubernetes";
import { ImageError } from "@xfn/oci-rootfs";
import { hasElapsed } from "../objects/elapsed.ts";
import { FUNCTION_REVISIONS, FUNCTIONS } from "../objects/kinds.ts";
import { isControlledBy } from "../objects/owner.ts";
import type { PackagePort } from "./package-port.ts";
import type { ResolvedPackage, SeenPackage } from "./plan-package.ts";
import { PackageInstallError } from "./registry/install-error.ts";
import { digestIn } from "./registry/package-names.ts";

/**
 * With the pull policy Always, a registry is asked at this interval whether a tag has moved, as often as in Crossplane.
 */
const PULL_MS = 60_000;

/**
 * A registry's answer for a package with the pull policy Always. Events do not query the registry before the next query
 * is due.
 */
interface Answer extends ResolvedPackage {
  readonly uid: string;
  readonly source: string;
  /** In milliseconds since the epoch. */
  readonly at: number;
}

/**
 * The digests of the packages that `spec.package` names. A tag is resolved once with the pull policy IfNotPresent, and
 * every minute with Always.
 */
export class PackageDigests {
  readonly #port: Pick<PackagePort, "images" | "now">;
  readonly #answers: Map<string, Answer> = new Map();

  constructor(port: Pick<PackagePort, "images" | "now">) {
    this.#port = port;
  }

  /** The digest that is known without a request. */
  recall({ object, revisions }: SeenPackage): ResolvedPackage | undefined {
    const { package: source, packagePullPolicy } = FUNCTIONS.of(object).spec;
    const answer = this.#answers.get(object.metadata.name);
    if (packagePullPolicy === "Always") {
      const isSame = answer?.uid === object.metadata.uid && answer.source === source;
      return isSame && !hasElapsed(answer.at, this.#port.now(), PULL_MS) ? answer : undefined;
    }
    const digest = knownDigest(object, revisions);
    return digest === undefined ? undefined : { digest };
  }

  /** Asks the registry, unless `spec.package` has a digest. @throws {PackageInstallError} */
  async ask(seen: SeenPackage, signal: AbortSignal): Promise<ResolvedPackage> {
    const { name, uid } = seen.object.metadata;
    const { package: source = "", packagePullPolicy } = FUNCTIONS.of(seen.object).spec;
    const at = this.#port.now();
    const resolved = await this.#resolve(seen, source, signal);
    if (packagePullPolicy === "Always") this.#answers.set(name, { uid, source, at, ...resolved });
    return resolved;
  }

  /** When the registry must be asked again. */
  dueIn(name: string): { requeueAfterMs: number } | undefined {
    const answer = this.#answers.get(name);
    const restMs = answer === undefined ? 0 : answer.at + PULL_MS - this.#port.now();
    return restMs > 0 ? { requeueAfterMs: restMs } : undefined;
  }

  /** Forgets a package that is gone. */
  forget(name: string): void {
    this.#answers.delete(name);
  }

  async #resolve({ object, revisions }: SeenPackage, source: string, signal: AbortSignal): Promise<ResolvedPackage> {
    const action = `cannot resolve spec.package ${source}`;
    const pinned = pinnedIn(source, action);
    if (pinned !== undefined) return { digest: pinned };
    if (FUNCTIONS.of(object).spec.packagePullPolicy === "Never") {
      const message = `${action}: with the packagePullPolicy Never, spec.package must have a digest; add it, or use IfNotPresent`;
      throw new PackageInstallError("Unavailable", message);
    }
    try {
      return { digest: await this.#port.images.digestOf(object, { image: source, action }, signal) };
    } catch (error) {
      const known = knownDigest(object, revisions);
      // The package is installed; only its registry does not answer now.
      if (!(error instanceof PackageInstallError) || known === undefined) throw error;
      return { digest: known, note: `cannot check for a newer package: ${error.message}` };
    }
  }
}

/** The digest of a package's current revision; undefined if `spec.package` has changed since. */
function knownDigest(object: LiveObject, revisions: readonly LiveObject[]): string | undefined {
  const { spec, status } = FUNCTIONS.of(object);
  if (status.currentIdentifier !== spec.package) return undefined;
  const current = revisions.find(
    (revision) => revision.metadata.name === status.currentRevision && isControlledBy(revision, object),
  );
  // Older versions wrote the digest into the status.
  const image = (current && FUNCTION_REVISIONS.of(current).spec.image) ?? status.resolvedPackage;
  return image?.split("@")[1];
}

function pinnedIn(source: string, action: string): string | undefined {
  try {
    return digestIn(source);
  } catch (cause) {
    if (!(cause instanceof ImageError)) throw cause;
    throw new PackageInstallError("Unavailable", `${action}: ${cause.rawMessage}`, { cause });
  }
}
