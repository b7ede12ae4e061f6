// How figures and times are written. Pure.

const kUnits: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
  [1, "s"],
];

export function count(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

// At most two units: "3 d 4 h", "12 s". Below a second is "now".
export function span(milliseconds: number): string {
  let seconds = Math.floor(Math.abs(milliseconds) / 1000);
  if (seconds < 1) return "now";
  const parts: string[] = [];
  for (const [size, unit] of kUnits) {
    const amount = Math.floor(seconds / size);
    seconds -= amount * size;
    if (amount > 0) parts.push(`${amount} ${unit}`);
    else if (parts.length > 0) break;
    if (parts.length === 2) break;
  }
  return parts.join(" ");
}

// One unit, short enough for the head of a column: "80 m", "2.7 h", "7.1 d".
export function shortSpan(seconds: number): string {
  const [size, unit] = seconds < 120 ? [1, "s"] : seconds < 7_200 ? [60, "m"] : seconds < 172_800 ? [3_600, "h"] : [86_400, "d"];
  const value = seconds / Number(size);
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${unit}`;
}

export function ago(time: string | undefined, now: number): string {
  if (time === undefined) return "–";
  const distance = now - Date.parse(time);
  const text = span(distance);
  if (text === "now") return "now";
  return distance >= 0 ? `${text} ago` : `in ${text}`;
}

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 10) return perSecond.toFixed(perSecond < 1 ? 2 : 1);
  return count(perSecond);
}

export function percent(part: number, whole: number): string {
  if (whole === 0 || part === 0) return "0 %";
  const value = (part * 100) / whole;
  if (value < 0.01) return "< 0.01 %";
  if (value > 99.99 && value < 100) return "> 99.99 %";
  return `${value.toFixed(value < 10 ? 2 : 1)} %`;
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let size = value;
  let unit = -1;
  do {
    size /= 1024;
    ++unit;
  } while (size >= 1024 && unit < units.length - 1);
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`;
}

// The local time; with the date unless it is today's.
export function clock(time: string | undefined, now: number): string {
  if (time === undefined) return "–";
  const at = new Date(time);
  const two = (value: number) => value.toString().padStart(2, "0");
  const hours = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  if (at.toDateString() === new Date(now).toDateString()) return hours;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${hours}`;
}

export function plural(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}
