import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/**
 * Looks up names for connections, which use the addresses of a name in turn. Node tries the next address if it cannot
 * connect to the first one.
 */
export function lookupInTurns(): LookupFunction {
  let turn = 0;
  return (host, options, callback) => {
    dns.lookup(host, { ...options, all: true }, (cause, found) => {
      if (cause !== null) return callback(cause, []);
      const addresses = rotate(found, turn++);
      const [first] = addresses;
      if (options.all === true || first === undefined) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

// The system puts the preferred address family first (RFC 6724), and only its addresses take turns. They are sorted
// because DNS servers shuffle their answers.
function rotate(found: readonly LookupAddress[], turn: number): LookupAddress[] {
  const preferred = found[0]?.family;
  const others = found.filter(({ family }) => family !== preferred);
  const sorted = found
    .filter(({ family }) => family === preferred)
    .toSorted((a, b) => (a.address < b.address ? -1 : a.address > b.address ? 1 : 0));
  const start = sorted.length === 0 ? 0 : turn % sorted.length;
  return [...sorted.slice(start), ...sorted.slice(0, start), ...others];
}
