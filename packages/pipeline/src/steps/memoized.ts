/** Makes one value for each key, at its first use: for all steps of a run, or all XRs of a Composition. */
export function memoized<Key extends object, Value extends object>(make: (key: Key) => Value): (key: Key) => Value {
  const values: WeakMap<Key, Value> = new WeakMap();
  return (key) => {
    let value = values.get(key);
    if (value === undefined) values.set(key, (value = make(key)));
    return value;
  };
}
