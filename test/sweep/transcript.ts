import type { Write } from "../harness/faulty-client.ts";

/** The stored writes of an undisturbed run, by step, in their order. */
export type Transcript = readonly { readonly step: string; readonly writes: readonly string[] }[];

const UID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** A part of the field manager of composed resources: it depends on the name of the XR. */
const HASH = /[0-9a-f]{64}/g;

/**
 * Stored writes as texts: verb, object, part, field manager and user. Refused ones are left out: whether a write meets
 * an object that is being deleted depends on the speed of the server.
 *
 * @param replace replaces the run's names by those that all runs share
 */
export function transcriptOf(writes: readonly Write[], replace: (text: string) => string): string[] {
  const lines: string[] = [];
  const deleted = new Set<string>();
  let deletions: string[] = [];
  // Deletions follow the order of references, which depends on UIDs.
  const endDeletions = (): void => {
    lines.push(...deletions.toSorted());
    deletions = [];
  };
  for (const { verb, object, subresource, as, manager, answer } of writes) {
    if (answer.refused) continue;
    const { kind, namespace, name } = object;
    const title = `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
    if (verb === "delete") deleted.add(title);
    // The status of an instance follows its CRD, and that of a usage or a deleted object the garbage collector: all
    // depend on the speed of the server.
    if (subresource === "status" && (replace(kind) !== kind || kind === "Usage" || deleted.has(title))) continue;
    const parts = [`${verb} ${title}`, subresource, manager && `manager ${manager}`, as && `as ${as}`];
    const line = replace(parts.filter((part) => part !== undefined).join(", "))
      .replaceAll(UID, "(uid)")
      .replaceAll(HASH, "(hash)");
    if (verb === "delete") deletions.push(line);
    else {
      endDeletions();
      lines.push(line);
    }
  }
  endDeletions();
  // Packages are reconciled at the same time as what they install, so that the order depends on the server's speed.
  const ordered = [...lines.filter(isOfPackage), ...lines.filter((line) => !isOfPackage(line))];
  // How many passes see a new status depends on the speed of the server.
  return ordered.filter((line, index) => !line.includes(", status") || ordered[index - 1] !== line);
}

function isOfPackage(line: string): boolean {
  return line.includes(", manager pkg.crossplane.io/") || /^delete \w+Runtime /.test(line);
}
