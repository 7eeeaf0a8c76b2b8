/** A time as Kubernetes' `MicroTime` writes it: with six digits after the second. Leases are refused with fewer. */
export function microTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace("Z", "000Z");
}
