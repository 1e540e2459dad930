import { useEffect, useState } from "react";

// A value, once it has been the same for so long: what was typed, when nobody types any more.
export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  const text = JSON.stringify(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
    // The text is the value, without its identity.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [text, ms]);
  return settled;
}
