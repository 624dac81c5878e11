"""Recursive Newton-Euler for robots in URDF files, written for the tests: joint forces from joint accelerations."""

import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation


def _vector(element, key):
    return np.array([float(x) for x in element.get(key, "0 0 0").split()]) if element is not None else np.zeros(3)


def read(path):
    """The chain of joints from the root, each with its link; links on fixed joints stay links of their own."""
    root = ET.parse(path).getroot()
    links = {link.get("name"): link for link in root.findall("link")}
    joints = {j.find("child").get("link"): j for j in root.findall("joint")}
    ordered, known = [], {next(name for name in links if name not in joints)}
    while len(known) < len(links):
        for child, joint in joints.items():
            if child not in known and joint.find("parent").get("link") in known:
                ordered.append((joint, links[child]))
                known.add(child)
    return ordered


def inverse_dynamics(path, q, v, a, gravity):
    """Forces of the moving joints by name, where q, v and a are dictionaries of their positions and rates."""
    state = {}
    base = read(path)[0][0].find("parent").get("link")
    # In the world: rotation, origin, angular velocity and acceleration, velocity and acceleration of the origin.
    state[base] = (np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), -np.asarray(gravity))
    wrenches, axes, order = {}, {}, read(path)
    for joint, link in order:
        name, parent, child = joint.get("name"), joint.find("parent").get("link"), link.get("name")
        R0, p0, w0, dw0, _, a0 = state[parent]
        origin = joint.find("origin")
        R = R0 @ Rotation.from_euler("xyz", _vector(origin, "rpy")).as_matrix()
        arm = R0 @ _vector(origin, "xyz")
        kind = joint.get("type")
        axis = _vector(joint.find("axis"), "xyz") if joint.find("axis") is not None else np.array([1.0, 0, 0])
        axis = axis / np.linalg.norm(axis)
        u, w, dw = R @ axis, w0.copy(), dw0.copy()
        acceleration = a0 + np.cross(dw0, arm) + np.cross(w0, np.cross(w0, arm))
        if kind in ("revolute", "continuous"):
            w, dw = w0 + u * v[name], dw0 + u * a[name] + np.cross(w0, u * v[name])
            R = R @ Rotation.from_rotvec(axis * q[name]).as_matrix()
        elif kind == "prismatic":
            slide = u * q[name]
            acceleration = acceleration + np.cross(dw0, slide) + np.cross(w0, np.cross(w0, slide))
            acceleration = acceleration + 2 * np.cross(w0, u * v[name]) + u * a[name]
            arm = arm + slide
        state[child] = (R, p0 + arm, w, dw, None, acceleration)
        axes[name] = u
        force, moment = np.zeros(3), np.zeros(3)
        inertial = link.find("inertial")
        if inertial is not None:
            mass = float(inertial.find("mass").get("value"))
            place = inertial.find("origin")
            turned = R @ Rotation.from_euler("xyz", _vector(place, "rpy")).as_matrix()
            xx, xy, xz, yy, yz, zz = (
                float(inertial.find("inertia").get(f"i{k}")) for k in ("xx", "xy", "xz", "yy", "yz", "zz")
            )
            tensor = turned @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turned.T
            center = R @ _vector(place, "xyz")
            of_center = acceleration + np.cross(dw, center) + np.cross(w, np.cross(w, center))
            force = mass * of_center
            # About the world's origin.
            moment = tensor @ dw + np.cross(w, tensor @ w) + np.cross(p0 + arm + center, force)
        wrenches[child] = (force, moment)
    found = {}
    for joint, link in reversed(order):
        child, parent = link.get("name"), joint.find("parent").get("link")
        force, moment = wrenches[child]
        at = state[child][1]
        u, kind = axes[joint.get("name")], joint.get("type")
        if kind in ("revolute", "continuous"):
            found[joint.get("name")] = float(u @ (moment - np.cross(at, force)))
        elif kind == "prismatic":
            found[joint.get("name")] = float(u @ force)
        if parent in wrenches:
            wrenches[parent] = (wrenches[parent][0] + force, wrenches[parent][1] + moment)
    return found
